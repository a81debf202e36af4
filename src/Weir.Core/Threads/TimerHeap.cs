namespace Weir.Core.Threads;

/// <summary>Armed timers, the earliest first: a binary heap whose entries know their places, so that one is moved or taken out without a search.</summary>
internal sealed class TimerHeap
{
    private WatchTimer[] _timers = new WatchTimer[16];

    public int Count { get; private set; }

    /// <summary>The earliest. Only while there are any.</summary>
    public WatchTimer First => _timers[0];

    /// <summary>Puts a timer where its due time belongs, whether it was in here or not.</summary>
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

    // Up or down, whichever its due time asks for.
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
