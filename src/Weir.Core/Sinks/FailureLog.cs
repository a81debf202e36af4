using System.Diagnostics;

namespace Weir.Core.Sinks;

/// <summary>
/// The failures of one run, and the only class that knows what an <see cref="ErrorMode"/> means. It has its own lock. It is not on a hot path,
/// because a run without failures never creates one.
/// </summary>
internal sealed class FailureLog(ErrorMode mode)
{
    private readonly Lock _lock = new();
    private List<ItemFailure>? _all;
    private Exception? _sourceError;
    private Exception? _first;
    private long _firstIndex = -1;

    /// <summary>Keeps as much of an item's failure as the mode requires.</summary>
    /// <returns>Whether the run must stop.</returns>
    public bool AddItem(long index, Exception error)
    {
        lock (_lock)
        {
            switch (mode)
            {
                case ErrorMode.FailFast:
                    if (_first is null)
                    {
                        _first = error;
                        _firstIndex = index;
                    }

                    return true;
                case ErrorMode.CollectAndContinue:
                    (_all ??= []).Add(new ItemFailure(index, error));
                    return false;
                default:
                    // An exception that nobody will read is not kept.
                    return false;
            }
        }
    }

    /// <summary>Whether the run reports a failure that was added: under FailFast, only the first one.</summary>
    public bool Reports(long index, Exception error)
    {
        lock (_lock)
        {
            return mode != ErrorMode.FailFast || (_firstIndex == index && ReferenceEquals(_first, error));
        }
    }

    /// <summary>Keeps a failure of the source itself, which ends the run in every mode.</summary>
    public void AddSource(Exception error)
    {
        lock (_lock)
        {
            _first ??= error;
            _sourceError ??= error;
            if (mode == ErrorMode.CollectAndContinue)
            {
                (_all ??= []).Add(new ItemFailure(-1, error));
            }
        }
    }

    /// <summary>The exception to throw, unwrapped: the first error under FailFast, a source's error under BestEffort.</summary>
    public Exception? Single
    {
        get
        {
            lock (_lock)
            {
                return mode switch
                {
                    ErrorMode.FailFast => _first,
                    ErrorMode.BestEffort => _sourceError,
                    _ => null,
                };
            }
        }
    }

    /// <summary>Whether there are failures to report together.</summary>
    public bool HasCollected
    {
        get
        {
            lock (_lock)
            {
                return _all is not null;
            }
        }
    }

    /// <summary>All failures in source order (a failure of the source itself comes last), or null if there are none to report.</summary>
    public IReadOnlyList<ItemFailure>? Collected
    {
        get
        {
            lock (_lock)
            {
                if (_all is null)
                {
                    return null;
                }

                Debug.Assert(mode == ErrorMode.CollectAndContinue, "Only this mode collects.");
                _all.Sort(static (a, b) => unchecked((ulong)a.Index).CompareTo(unchecked((ulong)b.Index)));
                return _all.ToArray();
            }
        }
    }
}
