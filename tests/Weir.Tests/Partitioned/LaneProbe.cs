using System.Collections.Concurrent;

namespace Weir.Tests.Partitioned;

/// <summary>Watches what runs at once, for each key and over all, and in which order the items of a key start.</summary>
internal sealed class LaneProbe
{
    private readonly ConcurrentDictionary<int, Lane> _lanes = new();
    private int _running;
    private int _mostAtOnce;

    public int MostAtOnce => Volatile.Read(ref _mostAtOnce);

    public int MostOfOneKey => _lanes.Values.Max(static lane => lane.Most);

    public IEnumerable<int> Keys => _lanes.Keys;

    public IReadOnlyList<int> Started(int key) => _lanes.TryGetValue(key, out Lane? lane) ? lane.Copy() : [];

    public void Enter(int key, int item)
    {
        int running = Interlocked.Increment(ref _running);
        int most;
        while ((most = Volatile.Read(ref _mostAtOnce)) < running && Interlocked.CompareExchange(ref _mostAtOnce, running, most) != most)
        {
        }

        _lanes.GetOrAdd(key, static _ => new Lane()).Enter(item);
    }

    public void Leave(int key)
    {
        _lanes[key].Leave();
        Interlocked.Decrement(ref _running);
    }

    private sealed class Lane
    {
        private readonly List<int> _started = [];
        private int _running;

        public int Most { get; private set; }

        public void Enter(int item)
        {
            lock (_started)
            {
                _started.Add(item);
                Most = Math.Max(Most, ++_running);
            }
        }

        public void Leave()
        {
            lock (_started)
            {
                _running--;
            }
        }

        public IReadOnlyList<int> Copy()
        {
            lock (_started)
            {
                return [.. _started];
            }
        }
    }
}
