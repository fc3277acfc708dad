-- Modules that ingress-nginx loads, but calls only for features that no test uses: whoever calls one is told.
local names = { "chash", "cookie", "dns.resolver", "global_throttle", "http", "ipmatcher", "lock" }

for _, suffix in ipairs(names) do
  local name = "resty." .. suffix
  local absent = setmetatable({}, {
    __index = function(_, key)
      return function()
        error(name .. "." .. tostring(key) .. " is not in this image")
      end
    end,
  })
  -- The balancer "ewma" makes a lock when it is loaded.
  absent.new = function()
    return absent
  end
  -- Kinds of DNS records are numbers, and asked for early, too.
  absent.TYPE_A, absent.TYPE_AAAA = 1, 28
  package.preload[name] = function()
    return absent
  end
end
