-- The part of resty.roundrobin that ingress-nginx's balancer calls: each node in turn, all of one weight.
-- The first one is drawn, that workers do not walk in step. Each worker says in nginx's log which nodes it has: the moment from which it
-- chooses no other.
local RoundRobin = {}
RoundRobin.__index = RoundRobin

function RoundRobin:reinit(nodes)
  local order = {}
  for node, weight in pairs(nodes) do
    assert(weight == 1, "nodes of different weight are not made here")
    order[#order + 1] = node
  end
  table.sort(order)
  self.nodes = nodes
  self.order = order
  self.last = #order > 0 and math.random(#order) or 0
  ngx.log(ngx.NOTICE, "nodes: ", table.concat(order, " "))
end

function RoundRobin:new(nodes)
  local own = setmetatable({}, self)
  own:reinit(nodes)
  return own
end

function RoundRobin:find()
  if #self.order == 0 then
    return nil
  end
  self.last = self.last % #self.order + 1
  return self.order[self.last]
end

return RoundRobin
