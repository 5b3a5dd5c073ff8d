-- The health of a Stream for Argo CD.
local function condition(kind)
  for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
    if c.type == kind then return c end
  end
  return {}
end

local ready, reconciling = condition("Ready"), condition("Reconciling")
if obj.status == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "The manager has not seen the present spec yet."}
end
if reconciling.status == "True" then
  return {status = "Progressing", message = reconciling.message}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
if ready.reason == "NoEligibleNode" then
  return {status = "Degraded", message = ready.message}
end
return {status = "Progressing", message = ready.message or "The stream has no owner yet."}
