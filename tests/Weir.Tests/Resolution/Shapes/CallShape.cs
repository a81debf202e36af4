namespace Weir.Tests.Resolution.Shapes;

/// <summary>What one writes for the call of an item, and which overload is meant by it.</summary>
/// <param name="Code">The argument. <c>$</c> is a class with methods of every kind for the items at hand.</param>
/// <param name="Meant">The overload.</param>
internal sealed record CallShape(string Code, CallKind Meant)
{
    private const CallKind V = CallKind.ValueTask;

    private const CallKind T = CallKind.Task;

    private const CallKind NV = CallKind.NoTokenValueTask;

    private const CallKind NT = CallKind.NoTokenTask;

    private const CallKind S = CallKind.Synchronous;

    private const CallKind ST = CallKind.SynchronousWithToken;

    /// <summary>Calls with a result.</summary>
    public static CallShape[] Selectors { get; } =
    [
        new("(x, t) => $.ValueOf(x, t)", V),
        new("(x, t) => $.TaskOf(x, t)", T),
        new("(x, _) => $.TaskOf(x)", T),
        new("$.ValueOf", V),
        new("$.TaskOf", T),
        new("$.ValueOrNoToken", V),
        new("$.TaskOrNoToken", T),
        new("async (x, t) => await $.TaskOf(x, t)", V),
        new("async (x, t) => { await Task.Yield(); return x; }", V),
        new("static async (x, _) => { await Task.Yield(); return 1; }", V),
        new("(x, t) => new ValueTask<int>(1)", V),
        new("(x, t) => ValueTask.FromResult(1)", V),
        new("(x, t) => Task.FromResult(1)", T),
        new("(x, t) => { if (t.IsCancellationRequested) throw new Exception(); return new ValueTask<int>(1); }", V),
        new("async delegate { await Task.Yield(); return 1; }", V),
        new("x => $.ValueOf(x)", NV),
        new("x => $.TaskOf(x)", NT),
        new("$.OnlyValueOf", NV),
        new("$.OnlyTaskOf", NT),
        new("async x => await $.TaskOf(x)", NV),
        new("async x => { await Task.Yield(); return x; }", NV),
        new("x => Task.FromResult(x)", NT),
        new("x => new ValueTask<int>(1)", NV),
        new("x => x!.ToString()", S),
        new("x => { lock (array) { return 1; } }", S),
        new("$.SyncOf", S),
        new("delegate { return 1; }", S),
        new("(x, t) => x!.ToString()", ST),
        new("(x, t) => { t.ThrowIfCancellationRequested(); return 1; }", ST),
        new("$.SyncWithToken", ST),
    ];

    /// <summary>Calls without a result.</summary>
    public static CallShape[] Actions { get; } =
    [
        new("(x, t) => $.Value(x, t)", V),
        new("(x, t) => $.Task(x, t)", T),
        new("(x, t) => $.TaskOf(x, t)", T),
        new("$.Value", V),
        new("$.Task", T),
        new("$.TaskOf", T),
        new("$.TaskOrNoToken", T),
        new("async (x, t) => await $.Task(x, t)", V),
        new("async (x, t) => { await Task.Yield(); }", V),
        new("(x, t) => default", V),
        new("(x, t) => ValueTask.CompletedTask", V),
        new("(x, t) => Task.CompletedTask", T),
        new("(x, t) => throw new Exception()", V),
        new("(x, t) => { throw new Exception(); }", V),
        new("async (x, t) => throw new Exception()", V),
        new("async delegate { await Task.Yield(); }", V),
        new("x => $.OnlyValue(x)", NV),
        new("x => $.OnlyTask(x)", NT),
        new("x => $.TaskOf(x)", NT),
        new("$.OnlyValue", NV),
        new("$.OnlyTask", NT),
        new("$.OnlyTaskOf", NT),
        new("async x => await $.OnlyTask(x)", NV),
        new("async x => { await Task.Yield(); }", NV),
        new("async x => throw new Exception()", NV),
        new("x => throw new Exception()", NV),
        new("x => { }", S),
        new("x => Console.WriteLine(x)", S),
        new("x => { lock (array) { } }", S),
        new("$.Void", S),
        new("delegate { }", S),
        new("(x, t) => { }", ST),
        new("(x, t) => Console.WriteLine(x)", ST),
        new("$.VoidWithToken", ST),
        new("x => $.SyncOf(x)", S),
        new("x => $.Set.Add(x)", S),
        new("(x, t) => $.SyncWithToken(x, t)", ST),
    ];

    /// <summary>Calls with a result where none is wanted, and what one writes instead.</summary>
    public static (string Code, CallShape Instead)[] WithAResultTooMany { get; } =
    [
        ("$.ValueOf", new("async (x, t) => await $.ValueOf(x, t)", V)),
        ("async (x, t) => { await Task.Yield(); return 1; }", new("async (x, t) => { await Task.Yield(); }", V)),
        ("$.OnlyValueOf", new("async x => await $.OnlyValueOf(x)", NV)),
        ("async x => { await Task.Yield(); return 1; }", new("async x => { await Task.Yield(); }", NV)),
        ("$.SyncOf", new("x => $.SyncOf(x)", S)),
        ("$.Set.Add", new("x => $.Set.Add(x)", S)),
        ("$.SyncWithToken", new("(x, t) => $.SyncWithToken(x, t)", ST)),
    ];
}
