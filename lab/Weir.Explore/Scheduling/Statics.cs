namespace Weir.Explore.Scheduling;

/// <summary>
/// The static fields of the rewritten classes. Each class that has some is initialized here, in one piece, and again before each later schedule, in the same
/// order. So no schedule sees what another one left.
/// </summary>
internal static class Statics
{
    private static readonly List<Action> Resets = [];
    private static readonly List<IDisposable> Kept = [];
    private static Action[] _threadClears = [];

    /// <summary>
    /// How many classes there are. One that a schedule is the first to use is initialized in the middle of it, and before the first step of all later ones; if
    /// its constructor does what others see, such as to make an instrument, what came before may not come again.
    /// </summary>
    public static int Count
    {
        get
        {
            lock (Resets)
            {
                return Resets.Count;
            }
        }
    }

    /// <summary>Called by the class constructor of a rewritten class.</summary>
    public static void Register(Action reset)
    {
        RunInOnePiece(reset);
        lock (Resets)
        {
            Resets.Add(reset);
        }
    }

    /// <summary>Called by the class constructor of a rewritten class with fields for each thread.</summary>
    public static void RegisterThread(Action clear)
    {
        lock (Resets)
        {
            _threadClears = [.. _threadClears, clear];
        }
    }

    /// <summary>What the platform would keep: it is disposed of before the next schedule.</summary>
    public static void DisposeLater(IDisposable disposable) => Kept.Add(disposable);

    public static void Reset()
    {
        foreach (IDisposable kept in Kept)
        {
            RunInOnePiece(kept.Dispose);
        }

        Kept.Clear();
        Action[] resets;
        lock (Resets)
        {
            resets = [.. Resets];
        }

        foreach (Action reset in resets)
        {
            RunInOnePiece(reset);
        }
    }

    public static void ClearThread()
    {
        foreach (Action clear in _threadClears)
        {
            clear();
        }
    }

    private static void RunInOnePiece(Action action)
    {
        ControlledThread? me = ControlledThread.Current;
        if (me is null)
        {
            action();
            return;
        }

        me.AtomicDepth++;
        try
        {
            action();
        }
        finally
        {
            me.AtomicDepth--;
        }
    }
}
