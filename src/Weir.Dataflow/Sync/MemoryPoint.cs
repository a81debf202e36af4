using System.Diagnostics;

namespace Weir.Dataflow.Sync;

/// <summary>The places where memory is allocated while a lock is held: there, a test of the Debug build lets it run out. Nothing in Release.</summary>
internal static class MemoryPoint
{
    /// <summary>Called with what holds the lock, or its type, on the thread that passes the place.</summary>
    public static Action<object>? Passing { get; set; }

    [Conditional("DEBUG")]
    public static void Pass(object who) => Passing?.Invoke(who);
}
