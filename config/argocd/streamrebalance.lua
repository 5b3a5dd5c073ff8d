-- The health of a StreamRebalance for Argo CD. What waits for a person is Suspended: an approval, or the end of spec.suspend.
local function condition(kind)
  for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
    if c.type == kind then return c end
  end
  return {}
end

local ready, stalled = condition("Ready"), condition("Stalled")
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "The manager has not seen the present spec yet."}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
if stalled.status == "True" then
  return {status = "Degraded", message = stalled.message}
end
if ready.reason == "AwaitingApproval" or ready.reason == "OtherPlanApproved" or ready.reason == "Suspended" then
  return {status = "Suspended", message = ready.message}
end
return {status = "Progressing", message = ready.message or "A plan is being made."}
