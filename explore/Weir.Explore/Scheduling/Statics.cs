namespace Weir.Explore.Scheduling;

/// <summary>
/// The static fields of a rewritten program. Each class that has some is initialized here, in one piece, and again before each later schedule, in the same
/// order. So no schedule sees what another one left.
/// </summary>
internal sealed class Statics
{
    private static readonly List<IDisposable> Kept = [];
    private Action[] _resets = [];
    private Action[] _threadClears = [];

    /// <summary>Those of the program that is searched: searches take turns, and classes of another one are not initialized again.</summary>
    public static Statics Current { get; set; } = new();

    /// <summary>
    /// How many classes there are. One that a schedule is the first to use is initialized in the middle of it, and before the first step of all later ones; if
    /// its constructor does what others see, such as to make an instrument, what came before may not come again.
    /// </summary>
    public static int Count => Current._resets.Length;

    /// <summary>Called by the class constructor of a rewritten class.</summary>
    public static void Register(Action reset)
    {
        RunInOnePiece(reset);
        Add(ref Current._resets, reset);
    }

    /// <summary>Called by the class constructor of a rewritten class with fields for each thread.</summary>
    public static void RegisterThread(Action clear) => Add(ref Current._threadClears, clear);

    /// <summary>What the platform would keep: it is disposed of before the next schedule.</summary>
    public static void DisposeLater(IDisposable disposable) => Kept.Add(disposable);

    public static void Reset()
    {
        Kept.ForEach(static k => RunInOnePiece(k.Dispose));
        Kept.Clear();
        Array.ForEach(Current._resets, RunInOnePiece);
    }

    public static void ClearThread() => Array.ForEach(Current._threadClears, static clear => clear());

    private static void Add(ref Action[] actions, Action added)
    {
        lock (Kept)
        {
            actions = [.. actions, added];
        }
    }

    private static void RunInOnePiece(Action action)
    {
        ControlledThread? me = ControlledThread.Current;
        me?.AtomicDepth += 1;
        try
        {
            action();
        }
        finally
        {
            me?.AtomicDepth -= 1;
        }
    }
}
