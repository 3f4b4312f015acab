// Linked into the static binary only. It keeps that from loading modules of its host, which were
// made for another C library or another OpenSSL, and has libcurl built in.
#include <nss.h>
#include <openssl/crypto.h>

#include "base/curl_library.h"

namespace ioc_exporter {

Result<CurlLibrary> load_curl_library() {
  return CurlLibrary{&::curl_global_init,         &::curl_easy_init,    &::curl_easy_setopt,
                     &::curl_easy_perform,        &::curl_easy_getinfo, &::curl_easy_strerror,
                     &::curl_easy_cleanup,        &::curl_slist_append, &::curl_slist_free_all,
                     &::SSL_CTX_set_info_callback};
}

}  // namespace ioc_exporter

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
