namespace Weir.Dataflow.Sync;

/// <summary>What the steps of one locked region found out has to be done once no lock is held, in their order and however many they are.</summary>
internal struct AfterLocks
{
    private IAfterLock? _first;
    private List<IAfterLock>? _more;

    /// <summary>Makes room for one more, so that <see cref="Add"/> cannot fail when the step is made and can no longer be taken back.</summary>
    public void Reserve()
    {
        if (_first is not null)
        {
            List<IAfterLock> more = _more ??= [];
            more.EnsureCapacity(more.Count + 1);
        }
    }

    public void Add(IAfterLock? after)
    {
        if (after is null)
        {
            return;
        }

        if (_first is null)
        {
            _first = after;
        }
        else
        {
            (_more ??= []).Add(after);
        }
    }

    public readonly void Run()
    {
        if (_more is null)
        {
            _first?.AfterLock();
            return;
        }

        bool stored = Do(_first!);
        foreach (IAfterLock after in _more)
        {
            stored &= Do(after);
        }

        if (!stored)
        {
            NoMemory.Instance.AfterLock();
        }
    }

    /// <summary>What was stored is passed on before anybody is told that something was not stored.</summary>
    private static bool Do(IAfterLock after)
    {
        if (ReferenceEquals(after, NoMemory.Instance))
        {
            return false;
        }

        after.AfterLock();
        return true;
    }
}
