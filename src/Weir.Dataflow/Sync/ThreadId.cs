using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Sync;

/// <summary>
/// A positive number for each thread that uses a lock. Its own, because a thread-static field is read in place while
/// <see cref="Environment.CurrentManagedThreadId"/> is a call into the runtime, which for a short lock is a third of its cost.
/// </summary>
internal static class ThreadId
{
    private static int Last;

    [ThreadStatic]
    private static int _id;

    public static int Current
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            int id = _id;
            return id != 0 ? id : New();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int New() => _id = Interlocked.Increment(ref Last);
}
