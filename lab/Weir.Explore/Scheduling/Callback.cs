using Weir.Explore.Model;

namespace Weir.Explore.Scheduling;

/// <summary>A callback of a cancellation token, and who is running it.</summary>
internal sealed class Callback(Action<object?, CancellationToken> action, object? state)
{
    public ControlledThread? RunsOn { get; private set; }

    public TaskCompletionSource Ended { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Run(object? unused, CancellationToken token)
    {
        RunsOn = ControlledThread.Current;
        try
        {
            action(state, token);
        }
        finally
        {
            RunsOn = null;
            Order.Release(this);
            Order.Release(Ended.Task);
            Ended.TrySetResult();
        }
    }
}
