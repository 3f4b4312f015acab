// SharedWork: what several threads want at the same time is made once.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace ioc_exporter {

template <class Key, class Value>
class SharedWork {
 public:
  using Shared = std::shared_ptr<const Value>;

  // Result of make(), called here, or by another thread that has begun the same work before. It is
  // not kept for later callers. All waiting callers get what make() throws.
  template <class Make>
  Shared get(const Key& key, Make&& make) {
    std::promise<Shared> promise;
    std::unique_lock lock(mutex_);
    const auto [place, is_new] = under_way_.try_emplace(key);
    if (!is_new) {
      const std::shared_future<Shared> other = place->second;
      lock.unlock();
      return other.get();
    }
    place->second = promise.get_future().share();
    lock.unlock();
    try {
      Shared made = std::make_shared<const Value>(make());
      end(key);
      promise.set_value(made);
      return made;
    } catch (...) {
      end(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  void end(const Key& key) {
    const std::scoped_lock lock(mutex_);
    under_way_.erase(key);
  }

  std::mutex mutex_;
  std::map<Key, std::shared_future<Shared>> under_way_;
};

}  // namespace ioc_exporter
