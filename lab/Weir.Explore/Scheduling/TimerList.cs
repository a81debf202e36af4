namespace Weir.Explore.Scheduling;

/// <summary>The timers of a schedule that are set.</summary>
internal sealed class TimerList
{
    private readonly List<VirtualTimer> _timers = [];

    /// <summary>When the first one is due.</summary>
    public long Next => _timers.Count == 0 ? long.MaxValue : _timers.Min(static t => t.DueAt);

    public void Add(VirtualTimer timer) => _timers.Add(timer);

    public void Remove(VirtualTimer timer) => _timers.Remove(timer);

    public void FireDue(long now)
    {
        while (_timers.Count > 0)
        {
            VirtualTimer first = _timers.MinBy(static t => t.DueAt)!;
            if (first.DueAt > now)
            {
                return;
            }

            first.Fire();
        }
    }
}
