// Keeps the static binary from loading modules of its host, which were made for another C library
// or another OpenSSL. Linked into that binary only.
#include <nss.h>
#include <openssl/crypto.h>

namespace {

// Users are those of /etc/passwd and /etc/group, hosts those of /etc/hosts and DNS, whatever
// /etc/nsswitch.conf says: both are part of the C library. OpenSSL's configuration may name
// modules, too.
[[gnu::constructor]] void load_no_modules() {
  ::__nss_configure_lookup("passwd", "files");
  ::__nss_configure_lookup("group", "files");
  ::__nss_configure_lookup("hosts", "files dns");
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

}  // namespace
