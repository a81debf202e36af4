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
        execution?.Races?.OrderPlatform(RunsOn!);
        execution?.Conflicts?.Unknown(RunsOn!);
        try
        {
            action(state, token);
        }
        finally
        {
            execution?.Races?.Release(RunsOn!, this);
            execution?.Races?.Release(RunsOn!, Ended.Task);
            execution?.Conflicts?.Use(RunsOn!, this);
            execution?.Conflicts?.EndTask(RunsOn!, Ended.Task);
            RunsOn = null;
            Ended.TrySetResult();
        }
    }
}
