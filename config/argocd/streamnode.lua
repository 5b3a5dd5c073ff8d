-- The health of a StreamNode for Argo CD.
local function condition(kind)
  for _, c in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
    if c.type == kind then return c end
  end
  return {}
end

local ready, draining, drained, blocked = condition("Ready"), condition("Draining"), condition("Drained"), condition("DrainBlocked")
if ready.status == nil then
  return {status = "Progressing", message = "The manager has not looked at the node yet."}
end
if ready.status ~= "True" then
  return {status = "Degraded", message = ready.message}
end
if drained.status == "True" then
  return {status = "Suspended", message = drained.message}
end
if blocked.status == "True" then
  return {status = "Degraded", message = blocked.message}
end
if draining.status == "True" then
  return {status = "Progressing", message = draining.message}
end
return {status = "Healthy", message = ready.message}
