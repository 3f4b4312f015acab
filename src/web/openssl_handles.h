// Owners of OpenSSL's objects, and its errors in words. For files that are compiled only where
// there is TLS.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace ioc_exporter::openssl {

template <auto free>
struct Deleter {
  template <class T>
  void operator()(T* held) const {
    free(held);
  }
};
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Deleter<SSL_free>>;

// OpenSSL's error of this thread, which is then forgotten.
inline std::string error_text() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "OpenSSL does not say why" : reason;
}

// There is no user to ask for a key's password.
inline int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace ioc_exporter::openssl
