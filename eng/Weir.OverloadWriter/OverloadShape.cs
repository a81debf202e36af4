namespace Weir.OverloadWriter;

/// <summary>A shape of the users' calls for which overloads are written beside those of calls that take a token and return a value task.</summary>
/// <param name="rank">Its place: of the overloads that a call fits, the one of the lowest rank is meant. The written ones have rank 0.</param>
/// <param name="withResult">Its delegate, for calls with a result: of <c>{0}</c>, the item, and <c>{1}</c>, the result. Null if another shape has it.</param>
/// <param name="withoutResult">Its delegate, for calls without one.</param>
/// <param name="isSynchronous">Whether the call is made one that returns a value task, by <c>TaskCalls.Synchronous</c>.</param>
/// <param name="rung">A parameter at the end that keeps it apart in C# 12, which knows no priorities.</param>
internal sealed class OverloadShape(int rank, string? withResult, string withoutResult, bool isSynchronous, string rung)
{
    // C# 12 takes it as an array to be left out, and prefers a method without; of a span it knows nothing, and does not see the method at all.
    private const string Behind = "params Missing[] none";

    private const string Hidden = "params ReadOnlySpan<Missing> none";

    private static readonly OverloadShape Written =
        new(0, "Func<{0}, CancellationToken, ValueTask<{1}>>", "Func<{0}, CancellationToken, ValueTask>", isSynchronous: false, Hidden);

    // Tasks, results that are discarded, calls without a token (three), and calls that return no task: without a token, with one, and with results that are
    // discarded.
    private static readonly OverloadShape[] Others =
    [
        new(1, "Func<{0}, CancellationToken, Task<{1}>>", "Func<{0}, CancellationToken, Task>", isSynchronous: false, Behind),
        new(2, null, "Func<{0}, CancellationToken, ValueTask<TResult>>", isSynchronous: false, Hidden),
        new(3, "Func<{0}, ValueTask<{1}>>", "Func<{0}, ValueTask>", isSynchronous: false, Hidden),
        new(4, "Func<{0}, Task<{1}>>", "Func<{0}, Task>", isSynchronous: false, Hidden),
        new(5, null, "Func<{0}, ValueTask<TResult>>", isSynchronous: false, Hidden),
        new(6, "Func<{0}, {1}>", "Action<{0}>", isSynchronous: true, Hidden),
        new(7, "Func<{0}, CancellationToken, {1}>", "Action<{0}, CancellationToken>", isSynchronous: true, Hidden),
        new(8, null, "Func<{0}, TResult>", isSynchronous: true, Hidden),
        new(9, null, "Func<{0}, CancellationToken, TResult>", isSynchronous: true, Hidden),
    ];

    /// <summary>All that are written: each shape, and each shape, also the one that is written by hand, with a token in place of the options.</summary>
    public static OverloadShape[] All { get; } = [.. Others, .. Others.Prepend(Written).Select(static s => s.WithTokenOnly())];

    /// <summary>Whether the options and all else that may be left out are left out, so that the token follows the call.</summary>
    public bool HasTokenOnly { get; private set; }

    public int Rank => rank;

    /// <summary>
    /// Its priority among overloads of one source. A token comes behind all options: <c>new() { MaxRetries = 3 }</c> would fit both.
    /// </summary>
    public string Priority => $"{rank} * Priority.Rank" + (HasTokenOnly ? " + Priority.TokenOnly" : "");

    public string? WithResult => withResult;

    public string WithoutResult => withoutResult;

    public string Rung => rung;

    /// <summary>Whether a method gets an overload of this shape.</summary>
    /// <param name="discards">Whether the method's call has no result, and one that has may be given all the same.</param>
    public bool IsFor(bool discards) => withResult is not null || discards;

    /// <summary>The method of <c>TaskCalls</c> that makes the written shape of a call; null for a call of that shape.</summary>
    public string? Adapter(bool isAction) => withResult is null ? "Discarding" : isSynchronous ? "Synchronous"
        : rank == 0 ? null : isAction ? "Action" : "Selector";

    private OverloadShape WithTokenOnly() => new(rank, withResult, withoutResult, isSynchronous, Hidden) { HasTokenOnly = true };
}
