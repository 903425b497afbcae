#include "federation/signature_form_cache.hpp"

#include "base/counted.hpp"

namespace tagring::federation {

using signatures::SignatureForm;

SignatureForm SignatureFormCache::first_form(const std::string& origin) const {
  const auto it = entries_.find(origin);
  if (it == entries_.end() || clock_.now() - it->second.learned >= kLifetime) return SignatureForm::kCavage;
  return it->second.form;
}

std::vector<SignatureForm> SignatureFormCache::forms(const std::string& origin, bool has_query) const {
  const SignatureForm first = first_form(origin);
  std::vector<SignatureForm> order = {first};
  for (const SignatureForm form :
       {SignatureForm::kCavage, SignatureForm::kCavagePathOnly, SignatureForm::kMessage}) {
    // Without a query, either form of cavage gives the same.
    const bool same = form != SignatureForm::kMessage && !has_query &&
                      (first != SignatureForm::kMessage || form == SignatureForm::kCavagePathOnly);
    if (form != first && !same) order.push_back(form);
  }
  return order;
}

void SignatureFormCache::accepted(const std::string& origin, SignatureForm form) {
  if (form == first_form(origin)) return;
  entries_.erase(origin);
  if (form == SignatureForm::kCavage) return;
  make_room(entries_, kSizeMax);
  entries_.emplace(origin, Entry{form, clock_.now()});
}

}  // namespace tagring::federation
