using System.Threading.Tasks.Sources;

namespace Weir.Runtimes;

/// <summary>What comes first: the end of the item that is waited for, or the moment to give it up. Used again for item after item.</summary>
internal sealed class ItemRace : IValueTaskSource<bool>
{
    private ManualResetValueTaskSourceCore<bool> _core;
    private CancellationToken _callerToken;
    private int _decided;

    private readonly Lock _lock = new();
    private Action? _observe;
    private bool _strayEnded;

    public ItemRace() => ItemEnded = OnItemEnded;

    /// <summary>The continuation of the item.</summary>
    public Action ItemEnded { get; }

    /// <summary>Waits for the first of the two.</summary>
    /// <returns>Whether the item ended.</returns>
    public ValueTask<bool> WaitAsync() => new(this, _core.Version);

    public void GiveUp() => Decide(ended: false);

    /// <summary>Gives up, unless it is the caller who cancelled: then the item is waited for.</summary>
    public void GiveUpUnlessCancelled()
    {
        if (!_callerToken.IsCancellationRequested)
        {
            Decide(ended: false);
        }
    }

    public ItemRace For(CancellationToken callerToken)
    {
        _callerToken = callerToken;
        return this;
    }

    /// <summary>Gets ready for the next item. Nothing of the last one is registered any more.</summary>
    public void Begin()
    {
        _core.Reset();
        _decided = 0;
    }

    /// <summary>Says how to look at the outcome of the stray call, so that its exception does not count as unobserved. No other item uses this race.</summary>
    public void Abandon(Action observe)
    {
        lock (_lock)
        {
            if (!_strayEnded)
            {
                _observe = observe;
                return;
            }
        }

        observe();
    }

    bool IValueTaskSource<bool>.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _core.OnCompleted(continuation, state, token, flags);

    private void OnItemEnded()
    {
        if (Decide(ended: true))
        {
            return;
        }

        Action? observe;
        lock (_lock)
        {
            _strayEnded = true;
            observe = _observe;
        }

        observe?.Invoke();
    }

    private bool Decide(bool ended)
    {
        if (Interlocked.Exchange(ref _decided, 1) != 0)
        {
            return false;
        }

        _core.SetResult(ended);
        return true;
    }
}
