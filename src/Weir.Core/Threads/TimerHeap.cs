namespace Weir.Core.Threads;

/// <summary>Armed timers, the earliest first: a binary heap whose entries know their positions, so that one can be moved or removed without a search.</summary>
internal sealed class TimerHeap
{
    private WatchTimer[] _timers = new WatchTimer[16];

    public int Count;

    /// <summary>The earliest timer. Only valid while there are any.</summary>
    public WatchTimer First => _timers[0];

    /// <summary>Whether one more fits without memory.</summary>
    public bool HasRoom => Count < _timers.Length;

    /// <summary>Moves a timer to the position of its due time, or inserts it.</summary>
    public void Set(WatchTimer timer)
    {
        if (timer.Place < 0)
        {
            if (Count == _timers.Length)
            {
                Array.Resize(ref _timers, Count * 2);
            }

            timer.Place = Count++;
        }

        Settle(timer, timer.Place);
    }

    public void Remove(WatchTimer timer)
    {
        int place = timer.Place;
        if (place < 0)
        {
            return;
        }

        timer.Place = -1;
        WatchTimer last = _timers[--Count];
        _timers[Count] = null!;
        if (last != timer)
        {
            Settle(last, place);
        }
    }

    // Up or down, depending on its due time.
    private void Settle(WatchTimer timer, int place)
    {
        while (place > 0)
        {
            int parent = (place - 1) / 2;
            if (_timers[parent].Due <= timer.Due)
            {
                break;
            }

            Put(_timers[parent], place);
            place = parent;
        }

        while (true)
        {
            int child = (2 * place) + 1;
            if (child + 1 < Count && _timers[child + 1].Due < _timers[child].Due)
            {
                child++;
            }

            if (child >= Count || _timers[child].Due >= timer.Due)
            {
                break;
            }

            Put(_timers[child], place);
            place = child;
        }

        Put(timer, place);
    }

    private void Put(WatchTimer timer, int place)
    {
        _timers[place] = timer;
        timer.Place = place;
    }
}
