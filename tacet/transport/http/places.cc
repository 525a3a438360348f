#include "tacet/transport/http/places.h"

#include <algorithm>

namespace tacet::transport::http {

Places::Verdict Places::Enter(Id id, const std::string& address) {
  Verdict verdict{.admitted = true, .replaced = std::nullopt};
  const auto group = by_address_.find(address);
  if (group != by_address_.end() && group->second.size() >= spec_.of_address) {
    verdict.replaced = group->second.front();
  } else if (entries_.size() >= spec_.all) {
    if (strangers_.empty()) return {};
    verdict.replaced = strangers_.front();
  }
  if (verdict.replaced.has_value()) Leave(*verdict.replaced);
  Ids& ids = by_address_[address];
  Entry entry{.address = address, .certificate = std::nullopt, .in_group = {}, .in_strangers = {}};
  entry.in_group = ids.insert(ids.end(), id);
  entry.in_strangers = strangers_.insert(strangers_.end(), id);
  entries_.emplace(id, std::move(entry));
  return verdict;
}

std::optional<Places::Id> Places::ShowCertificate(Id id, const std::string& name,
                                                  const std::function<int64_t(Id)>& last_active) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;  // it was replaced meanwhile
  Entry& entry = found->second;
  Remove(entry);
  std::optional<Id> replaced;
  if (const auto group = by_certificate_.find(name);
      group != by_certificate_.end() && group->second.size() >= spec_.of_certificate) {
    replaced = *std::ranges::min_element(group->second, {}, last_active);
    Leave(*replaced);
  }
  Ids& ids = by_certificate_[name];
  entry.certificate = name;
  entry.in_group = ids.insert(ids.end(), id);
  return replaced;
}

void Places::Leave(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Remove(found->second);
  entries_.erase(found);
}

void Places::Remove(const Entry& entry) {
  const bool stranger = !entry.certificate.has_value();
  Groups& groups = stranger ? by_address_ : by_certificate_;
  const auto group = groups.find(stranger ? entry.address : *entry.certificate);
  group->second.erase(entry.in_group);
  if (group->second.empty()) groups.erase(group);
  if (stranger) strangers_.erase(entry.in_strangers);
}

}  // namespace tacet::transport::http
