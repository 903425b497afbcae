#include "crypto/certificate.hpp"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tagring::crypto {
namespace {

using testing::HasSubstr;

// An authority, one below it, and a certificate of the latter for a.test; made once.
class CertificateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::temp_directory_path() / ("certificate_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const std::string script = "cd " + folder_.string() + R"sh( && exec 2> log && set -e
      key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $1.key; }
      issue() {
        key $1
        printf '%s\n' "$3" > ext
        openssl req -new -key $1.key -subj "/O=$1" -out csr
        openssl x509 -req -in csr -CA $2.pem -CAkey $2.key -days 30 -set_serial 0x$(openssl rand -hex 8) -extfile ext -out $1.pem
      }
      key root
      openssl req -x509 -new -key root.key -days 30 -subj /CN=Root -addext basicConstraints=critical,CA:TRUE -out root.pem
      issue between root basicConstraints=critical,CA:TRUE
      issue leaf between subjectAltName=DNS:a.test,DNS:*.b.test
      issue client between "$(printf 'subjectAltName=DNS:a.test\nextendedKeyUsage=clientAuth')"
      cat leaf.pem between.pem > chain.pem
      cat client.pem between.pem > client_chain.pem
      key self
      openssl req -x509 -new -key self.key -days 30 -subj /CN=a.test -addext subjectAltName=DNS:a.test -out self.pem)sh";
    ASSERT_EQ(std::system(script.c_str()), 0);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  static WallTime now() { return std::chrono::floor<Duration>(std::chrono::system_clock::now()); }
  static Result<CertificateFacts> check(const std::string& chain, const std::string& host,
                                        Duration later = {}, const std::string& authority = "root.pem") {
    return check_certificate(folder_ / chain, authority.empty() ? "" : (folder_ / authority).string(), host,
                             now() + later);
  }
  static std::string refusal(const std::string& chain, const std::string& host, Duration later = {},
                             const std::string& authority = "root.pem") {
    const auto checked = check(chain, host, later, authority);
    EXPECT_FALSE(checked);
    return checked ? "" : checked.error().message;
  }

 private:
  static inline std::filesystem::path folder_;
};

TEST_F(CertificateTest, IsGoodWithItsChainForItsNames) {
  const auto facts = check("chain.pem", "a.test");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->names, (std::vector<std::string>{"a.test", "*.b.test"}));
  EXPECT_EQ(facts->until - facts->from, std::chrono::days(30));
  EXPECT_TRUE(check("chain.pem", "x.b.test"));
}

TEST_F(CertificateTest, IsRefusedForOtherNamesAndTheMessageHasBoth) {
  EXPECT_THAT(refusal("chain.pem", "c.test"), HasSubstr("is for a.test, *.b.test, not for c.test"));
  EXPECT_THAT(refusal("chain.pem", "b.test"), HasSubstr("not for b.test"));
}

TEST_F(CertificateTest, IsRefusedBeforeAndAfterItsTime) {
  EXPECT_THAT(refusal("chain.pem", "a.test", std::chrono::days(31)), HasSubstr("expired on "));
  EXPECT_THAT(refusal("chain.pem", "a.test", -std::chrono::days(2)), HasSubstr("is not valid before "));
}

TEST_F(CertificateTest, IsRefusedWithoutWhatLeadsToAKnownAuthority) {
  EXPECT_THAT(refusal("leaf.pem", "a.test"), HasSubstr("the file needs the whole chain"));
  EXPECT_THAT(refusal("chain.pem", "a.test", {}, ""), HasSubstr("authority that is known"));
  EXPECT_THAT(refusal("self.pem", "a.test"), HasSubstr("signed by itself"));
}

TEST_F(CertificateTest, IsRefusedIfItIsNotForServers) {
  EXPECT_THAT(refusal("client_chain.pem", "a.test"), HasSubstr("purpose"));
}

TEST_F(CertificateTest, SaysWhichFileCannotBeRead) {
  const auto absent = check("none.pem", "a.test");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(refusal("leaf.key", "a.test"), HasSubstr("is no PEM"));
  EXPECT_THAT(refusal("chain.pem", "a.test", {}, "none.pem"), HasSubstr("CA file "));
}

}  // namespace
}  // namespace tagring::crypto
