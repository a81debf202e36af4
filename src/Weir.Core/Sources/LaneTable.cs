namespace Weir.Core.Sources;

/// <summary>
/// The lanes by their keys. Idle lanes stay for a while, because most keys recur: as many as there are busy lanes, plus some dozens. Not thread-safe,
/// except for lanes that become idle meanwhile. Runs the user's hash and equality, which may throw.
/// </summary>
/// <param name="count">The total number of items; -1 if it is not known.</param>
/// <param name="comparer">Compares keys.</param>
internal sealed class LaneTable<T, TKey>(int count, IEqualityComparer<TKey>? comparer)
    where TKey : notnull
{
    private const int FewLanes = 128;
    private const int ManyItems = 1024;

    private readonly Dictionary<TKey, Lane<T>> _lanes = new(count < ManyItems ? 0 : FewLanes, comparer);
    private readonly List<(TKey Key, Lane<T> Lane)> _busy = [];
    private int _sweepAt = FewLanes;

    /// <summary>The indices of the waiting items. A sweep that threw has left the lanes in which some may wait where it had put them.</summary>
    public IEnumerable<long> Waiting =>
        (_busy.Count > 0 ? _busy.Select(static busy => busy.Lane) : _lanes.Values).SelectMany(static lane => lane.Waiting);

    /// <summary>Removes idle lanes if there are many. Not while a caller has a lane that nothing has entered yet.</summary>
    public void MakeRoom()
    {
        if (_lanes.Count >= _sweepAt)
        {
            Sweep();
        }
    }

    public Lane<T> Get(TKey key)
    {
        if (!_lanes.TryGetValue(key, out Lane<T>? lane))
        {
            lane = new Lane<T>();
            _lanes.Add(key, lane);
        }

        return lane;
    }

    private void Sweep()
    {
        foreach ((TKey key, Lane<T> lane) in _lanes)
        {
            if (!lane.IsIdle)
            {
                _busy.Add((key, lane));
            }
        }

        // Most lanes are idle, so clearing the table and adding the few others again costs less than removing them one by one.
        _lanes.Clear();
        foreach ((TKey key, Lane<T> lane) in _busy)
        {
            _lanes.Add(key, lane);
        }

        _busy.Clear();
        _sweepAt = Math.Max(FewLanes, 2 * _lanes.Count);
    }
}
