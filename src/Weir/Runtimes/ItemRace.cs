using System.Threading.Tasks.Sources;
using Weir.Core;
using Weir.Core.Threads;

namespace Weir.Runtimes;

/// <summary>What ended the wait for an item.</summary>
internal enum RaceEnd
{
    /// <summary>The item ended.</summary>
    ItemEnded,

    /// <summary>The item's time limit passed.</summary>
    PerItemTimeout,

    /// <summary>The call was given up.</summary>
    CallGivenUp,
}

/// <summary>A race between the end of an item and the moment to give it up. Reused for item after item.</summary>
internal sealed class ItemRace : IValueTaskSource<RaceEnd>, IThreadPoolWorkItem
{
    private readonly Lock _lock = new();
    private ManualResetValueTaskSourceCore<RaceEnd> _core;
    private int _decided;
    private RaceEnd _end;
    private Action? _observe;
    private bool _strayEnded;

    public ItemRace() => ItemEnded = OnItemEnded;

    /// <summary>The continuation of the item.</summary>
    public Action ItemEnded { get; }

    /// <summary>Waits for whichever comes first.</summary>
    public ValueTask<RaceEnd> WaitAsync() => new(this, _core.Version);

    /// <summary>Prepares for the next item after one has ended.</summary>
    public void Reset()
    {
        _core.Reset();
        Volatile.Write(ref _decided, 0);
    }

    /// <summary>Ends the race, unless it is over.</summary>
    /// <returns>Whether this call ended the race.</returns>
    public bool Decide(RaceEnd end)
    {
        if (Interlocked.Exchange(ref _decided, 1) != 0)
        {
            return false;
        }

        if (end == RaceEnd.ItemEnded)
        {
            // The call continues where the item ends.
            _core.SetResult(end);
        }
        else
        {
            // The code that gives it up has other calls to look after.
            _end = end;
            UrgentWork.Queue(this);
        }

        return true;
    }

    /// <summary>
    /// Sets how to observe the outcome of the abandoned call, so that its exception does not count as unobserved. No other item uses this race.
    /// </summary>
    public void Abandon(Action observe)
    {
        using (_lock.Hold())
        {
            if (!_strayEnded)
            {
                _observe = observe;
                return;
            }
        }

        observe();
    }

    void IThreadPoolWorkItem.Execute() => _core.SetResult(_end);

    RaceEnd IValueTaskSource<RaceEnd>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<RaceEnd>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<RaceEnd>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    private void OnItemEnded()
    {
        if (Decide(RaceEnd.ItemEnded))
        {
            return;
        }

        Action? observe;
        using (_lock.Hold())
        {
            _strayEnded = true;
            observe = _observe;
        }

        observe?.Invoke();
    }
}
