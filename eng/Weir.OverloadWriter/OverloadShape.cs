namespace Weir.OverloadWriter;

/// <summary>A shape of the users' calls for which overloads are written beside those of calls that take a token and return a value task.</summary>
/// <param name="rank">Its place: of the overloads that a call fits, the one of the lowest rank is meant. The written ones have rank 0.</param>
/// <param name="withResult">Its delegate, for calls with a result: of <c>{0}</c>, the item, and <c>{1}</c>, the result. Null where it is one of the others.</param>
/// <param name="withoutResult">Its delegate, for calls without one.</param>
/// <param name="isSynchronous">Whether the call is made one that returns a value task, by <c>TaskCalls.Synchronous</c>.</param>
/// <param name="rung">A parameter at the end that keeps it apart in C# 12, which knows no priorities.</param>
internal sealed class OverloadShape(int rank, string? withResult, string withoutResult, bool isSynchronous, string rung)
{
    // C# 12 takes it as an array to be left out, and prefers a method without; of a span it knows nothing, and does not see the method at all.
    private const string Behind = "params Missing[] none";

    private const string Hidden = "params ReadOnlySpan<Missing> none";

    /// <summary>All shapes: tasks, results that are discarded, calls without a token (three), and calls that return no task.</summary>
    public static OverloadShape[] All { get; } =
    [
        new(1, "Func<{0}, CancellationToken, Task<{1}>>", "Func<{0}, CancellationToken, Task>", isSynchronous: false, Behind),
        new(2, null, "Func<{0}, CancellationToken, ValueTask<TResult>>", isSynchronous: false, Hidden),
        new(3, "Func<{0}, ValueTask<{1}>>", "Func<{0}, ValueTask>", isSynchronous: false, Hidden),
        new(4, "Func<{0}, Task<{1}>>", "Func<{0}, Task>", isSynchronous: false, Hidden),
        new(5, null, "Func<{0}, ValueTask<TResult>>", isSynchronous: false, Hidden),
        new(6, "Func<{0}, {1}>", "Action<{0}>", isSynchronous: true, Hidden),
    ];

    public int Rank => rank;

    public string? WithResult => withResult;

    public string WithoutResult => withoutResult;

    public string Rung => rung;

    /// <summary>The method of <c>TaskCalls</c> that makes the written shape of a call.</summary>
    public string Adapter(bool isAction) => isSynchronous ? "Synchronous" : isAction ? "Action" : "Selector";
}
