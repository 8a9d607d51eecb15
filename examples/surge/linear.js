// Even revisions: the coefficient follows the balance of demand and supply in a straight line.

const REVISION = 0;

// The same number everywhere in one text: an answer that names two of them was made of two texts.
const stamp = () => REVISION;

const clamp = (value, lowest, highest) => Math.min(Math.max(value, lowest), highest);

// Demand over what is usual. The prior keeps a quiet hour, with three hires in place of one, from looking like a rush.
function balance([demand, supply], zone) {
  return (demand + zone.prior) / (supply + zone.prior);
}

// Each hour moves the level by a share of the difference: one odd hour is no trend yet.
function smooth(hours, zone) {
  let level = balance(hours[0], zone);
  for (let at = 1; at < hours.length; at++) level += zone.weight * (balance(hours[at], zone) - level);
  return level;
}

function surge(hour, zone) {
  const now = [hour.demand, hour.supply];
  const smoothed = smooth([...hour.recent, now], zone);
  const weather = zone.weather[hour.weather] ?? 1;
  const raw = (1 + zone.slope * (smoothed - 1)) * weather;
  const steps = Math.round(clamp(raw, zone.lowest, zone.highest) / zone.step);
  return {
    revision: REVISION,
    coefficient: steps * zone.step,
    factors: { rule: 'linear', revision: stamp(), balance: balance(now, zone), smoothed, weather, raw },
  };
}
