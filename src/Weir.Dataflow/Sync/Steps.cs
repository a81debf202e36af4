using System.Diagnostics;

namespace Weir.Dataflow.Sync;

/// <summary>Points where a test of the Debug build can hold a thread, so as to try orders of steps that are rare in nature. Nothing in Release.</summary>
internal static class Steps
{
    /// <summary>Called with the point and the object that passes it, on the thread that does.</summary>
    public static Action<Step, object>? Passing { get; set; }

    [Conditional("DEBUG")]
    public static void Pass(Step step, object who) => Passing?.Invoke(step, who);
}
