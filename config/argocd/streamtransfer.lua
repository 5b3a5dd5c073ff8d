-- The health of a StreamTransfer for Argo CD.
local function condition(kind)
  for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
    if c.type == kind then return c end
  end
  return {}
end

local ready, stalled = condition("Ready"), condition("Stalled")
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
if stalled.status == "True" then
  return {status = "Degraded", message = stalled.message}
end
return {status = "Progressing", message = ready.message or "The manager has not looked at the transfer yet."}
