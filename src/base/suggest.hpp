// What somebody meant who typed a word that there is not.
#pragma once

#include <string>
#include <vector>

namespace tagring {

// ", did you mean \"list\"?" for the word that is the fewest letters away, or begins so; empty if none is
// near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace tagring
