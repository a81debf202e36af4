namespace Weir.Dataflow.Tests.Probes;

/// <summary>Blocks that make a call for each message, and give out the message itself if they have an output.</summary>
internal static class Calling
{
    /// <param name="kind">"action", "transform" or "many".</param>
    /// <param name="isAsync">Whether the block waits for the task of the call.</param>
    /// <param name="options">The options of the block.</param>
    /// <param name="call">The call.</param>
    public static ITargetBlock<int> Block(string kind, bool isAsync, ExecutionDataflowBlockOptions options, Func<int, Task> call) => (kind, isAsync) switch
    {
        ("action", true) => new ActionBlock<int>(call, options),
        ("action", false) => new ActionBlock<int>(i => { _ = call(i); }, options),
        ("transform", true) => new TransformBlock<int, int>(async i => { await call(i); return i; }, options),
        ("transform", false) => new TransformBlock<int, int>(i => { _ = call(i); return i; }, options),
        (_, true) => new TransformManyBlock<int, int>(async i => { await call(i); return [i]; }, options),
        _ => new TransformManyBlock<int, int>(i => { _ = call(i); return (int[])[i]; }, options),
    };
}
