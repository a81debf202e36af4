using System.Threading.Tasks.Sources;

namespace Weir.TestKit;

/// <summary>A started call that somebody has awaited before: its task source refuses each question, as those of the platform do.</summary>
public sealed class ConsumedCall : IValueTaskSource<int>, IValueTaskSource
{
    public static ValueTask<int> Start() => new(new ConsumedCall(), 0);

    /// <summary>The same without a result.</summary>
    public static ValueTask StartHook() => new(new ConsumedCall(), 0);

    public int GetResult(short token) => throw Refusal();

    void IValueTaskSource.GetResult(short token) => throw Refusal();

    public ValueTaskSourceStatus GetStatus(short token) => throw Refusal();

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) => throw Refusal();

    private static InvalidOperationException Refusal() => new("The call was awaited before.");
}
