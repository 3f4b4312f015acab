#include "putlog/privacy.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <utility>

#include "base/rooted_fs.h"
#include "putlog/filter.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kShortestSalt = 16, kMostKnown = 4096, kLargestFile = 4096;
constexpr unsigned kShownBytes = 8;

void hide(std::optional<Value>& value) {
  if (value) value = Value{{std::string("***")}, false};
}

void hide(PutField& field) {
  for (auto* value : {&field.value, &field.sent, &field.old}) hide(*value);
}

// HMAC-SHA256: without the salt nobody can try names.
std::string hash_of(const std::string& salt, const std::string& user) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(user.data());
  if (::HMAC(::EVP_sha256(), salt.data(), static_cast<int>(salt.size()), bytes, user.size(), sum,
             &length) == nullptr)
    return "sha256:?";  // rather nothing than the name
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "sha256:";
  for (unsigned i = 0; i < std::min(length, kShownBytes); ++i) {
    text += kHex[sum[i] >> 4];
    text += kHex[sum[i] & 15];
  }
  return text;
}

}  // namespace

Privacy::Privacy(std::optional<Pattern> hidden, std::optional<std::string> salt)
    : hidden_(std::move(hidden)), salt_(std::move(salt)) {
  if (salt_) hash_of(*salt_, "");  // the library reads its configuration now, not in the sandbox
}

Result<std::string> Privacy::read_salt(const std::string& file) {
  const auto text = RootedFs().read_regular(file, kLargestFile);
  if (!text) return text.error();
  std::string salt = text->substr(0, text->find_first_of("\r\n"));
  if (salt.size() < kShortestSalt)
    return error_in_words("read " + file + ": a salt has " + std::to_string(kShortestSalt) +
                          " characters and more, in the first line");
  return salt;
}

const std::string& Privacy::hashed(const std::string& user) {
  if (known_.size() >= kMostKnown) known_.clear();
  const auto [place, is_new] = known_.try_emplace(user);
  if (is_new) place->second = hash_of(*salt_, user);
  return place->second;
}

void Privacy::apply(PutEvent& event) {
  if (hidden_ && (event.pv.empty() || matches_pv(*hidden_, event.pv))) {
    for (auto* value : {&event.value, &event.sent, &event.old, &event.after}) hide(*value);
    for (PutField& field : event.fields) hide(field);
  }
  for (PutField& field : event.fields)
    if (hidden_ && (field.field.empty() || matches_pv(*hidden_, field.field))) hide(field);
  hide_user(event.user);
  const std::size_t at = event.channel_of.rfind('@');
  if (at == std::string::npos) return;
  std::string owner = event.channel_of.substr(0, at);
  hide_user(owner);
  event.channel_of.replace(0, at, owner);
}

void Privacy::hide_user(std::string& user) {
  if (salt_ && !user.empty()) user = hashed(user);
}

}  // namespace ioc_exporter::putlog
