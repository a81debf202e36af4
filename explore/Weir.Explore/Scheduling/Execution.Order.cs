namespace Weir.Explore.Scheduling;

/// <content>What comes before what.</content>
internal sealed partial class Execution
{
    /// <summary>Null if no data races are looked for.</summary>
    public RaceDetector? Races { get; private set; }

    /// <summary>Null if no states are compared, or not any more.</summary>
    public Conflicts? Conflicts { get; private set; } = seen?.Conflicts;

    /// <summary>From which choice on all that follows was seen before.</summary>
    public int SeenFrom { get; private set; } = int.MaxValue;

    /// <summary>Whether the program has asked for the number of a thread.</summary>
    public bool HasReadIds { get; private set; }

    public int IdOf(ControlledThread thread)
    {
        HasReadIds = true;
        return (int)Learn((ulong)thread.Id);
    }

    public ulong Pasts(Conflicts conflicts) => conflicts.Pasts(_threads, seen!.IdsMatter);

    /// <summary>A call of the platform without a clock of its own, which may change anything but plain fields.</summary>
    public void OrderPlatform(ControlledThread me)
    {
        Races?.OrderPlatform(me);
        Conflicts?.Unknown(me);
    }

    /// <summary>What the thread has done comes before what those do that see the end of a task, or of another object.</summary>
    public void Release(ControlledThread me, object ended)
    {
        Races?.Release(me, ended);
        if (ended is Task task)
        {
            Conflicts?.EndTask(me, task);
        }
        else
        {
            Conflicts?.Use(me, ended);
        }
    }

    /// <summary>A plain access. Through a reference, others may have changed the place in a call of the platform.</summary>
    public void Read<T>(ControlledThread me, ref T place, string site, bool isThrough)
    {
        Races?.Read(me, ref place, site);
        Conflicts?.Read(me, ref place, isThrough);
    }

    public void Write<T>(ControlledThread me, ref T place, string site, bool isThrough)
    {
        Races?.Write(me, ref place, site);
        Conflicts?.Write(me, ref place, isThrough);
    }

    /// <summary>The running thread has seen a value that others may change.</summary>
    public ulong Learn(ulong value)
    {
        if (Conflicts is not null && ControlledThread.Current is { } me)
        {
            Conflicts.Value(me, value);
        }

        return value;
    }

    /// <summary>A choice whose state was seen before is the last one that the search has to know of.</summary>
    private void Compare(ControlledThread? me, bool couldContinue)
    {
        if (Conflicts is null)
        {
            return;
        }

        ulong state = Conflicts.State(Pasts(Conflicts), _runnable, couldContinue ? me : null, _now, _stepsInARow);
        if (!seen!.IsNew(Decisions.Count, state))
        {
            SeenFrom = Decisions.Count;
            Conflicts = null;
        }
    }

    /// <summary>A thread that may begin from now on.</summary>
    /// <param name="name">What it is, for messages.</param>
    /// <param name="body">What it does.</param>
    /// <param name="context">Where it does it; null for the default.</param>
    /// <param name="after">What its beginning comes after; null for what the calling thread has done.</param>
    /// <param name="timer">The timer that begins it, whatever thread runs just then.</param>
    public ControlledThread Create(string name, Action body, ExecutionContext? context, VectorClock? after = null, object? timer = null)
    {
        Stores?.ShowAll();
        ControlledThread thread = new(this, ++_lastId, name, body, context);
        if (Races is not null)
        {
            after ??= ControlledThread.Current is { } me ? Races.Fork(me) : new VectorClock();
            thread.Clock.Join(after);
            thread.Clock.Increment(thread.Id);
        }

        Conflicts?.Begin(ControlledThread.Current, thread, timer);
        if (!_isStopping)
        {
            _threads.Add(thread);
        }

        return thread;
    }
}
