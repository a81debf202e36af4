namespace Weir.Explore.Scheduling;

/// <summary>A callback of a cancellation token, and who is running it.</summary>
internal sealed class Callback(Action<object?, CancellationToken> action, object? state)
{
    public ControlledThread? RunsOn { get; private set; }

    public TaskCompletionSource Ended { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Run(object? unused, CancellationToken token)
    {
        RunsOn = ControlledThread.Current;

        // It may have been registered after the cancellation began, which the platform may have called by itself.
        Execution? execution = RunsOn?.Execution;
        execution?.OrderPlatform(RunsOn!);
        try
        {
            action(state, token);
        }
        finally
        {
            execution?.Release(RunsOn!, this);
            execution?.Release(RunsOn!, Ended.Task);
            RunsOn = null;
            Ended.TrySetResult();
        }
    }
}
