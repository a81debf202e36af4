namespace Weir.Tests.Resolution.Shapes;

/// <summary>A shape of the users' calls for which overloads are written beside those of calls that take a token and return a value task.</summary>
/// <param name="Suffix">The last part of the name of the operators' files.</param>
/// <param name="Rank">Its place: of the overloads that a call fits, the one of the lowest rank is meant. The written ones have rank 0.</param>
/// <param name="Content">What its calls are, for the comment of a file.</param>
/// <param name="WithResult">
/// Its delegate, for calls with a result: of <c>{0}</c>, the item, and <c>{1}</c>, the result. Null where it is one of the others.
/// </param>
/// <param name="WithoutResult">Its delegate, for calls without one.</param>
/// <param name="Adapter">The method of <c>TaskCalls</c> that makes the written shape of it: for a selector and for an action.</param>
/// <param name="Rung">A parameter at the end that keeps it apart in C# 12, which knows no priorities.</param>
internal sealed record OverloadShape(
    string Suffix, int Rank, string Content, string? WithResult, string WithoutResult, (string Selector, string Action) Adapter, string Rung)
{
    // C# 12 takes it as an array to be left out, and prefers a method without; of a span it knows nothing, and does not see the method at all.
    private const string Behind = "params Missing[] none";

    private const string Hidden = "params ReadOnlySpan<Missing> none";

    private const string Discarded = "that return a value task with a result, which is discarded";

    private static readonly (string, string) Awaited = ("Selector", "Action");

    private static readonly (string, string) Plain = ("Synchronous", "Synchronous");

    public static OverloadShape[] All { get; } =
    [
        new("Tasks", 1, "that return a <see cref=\"Task\"/>", "Func<{0}, CancellationToken, Task<{1}>>", "Func<{0}, CancellationToken, Task>", Awaited, Behind),
        new("Results", 2, Discarded, null, "Func<{0}, CancellationToken, ValueTask<TResult>>", Awaited, Hidden),
        new("NoToken", 3, "that take no token", "Func<{0}, ValueTask<{1}>>", "Func<{0}, ValueTask>", Awaited, Hidden),
        new("NoToken", 4, "that take no token", "Func<{0}, Task<{1}>>", "Func<{0}, Task>", Awaited, Hidden),
        new("Results", 5, Discarded, null, "Func<{0}, ValueTask<TResult>>", Awaited, Hidden),
        new("Synchronous", 6, "that return no task", "Func<{0}, {1}>", "Action<{0}>", Plain, Hidden),
    ];
}
