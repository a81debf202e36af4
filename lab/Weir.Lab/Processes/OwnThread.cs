namespace Weir.Lab.Processes;

/// <summary>Runs something on a thread of its own.</summary>
internal static class OwnThread
{
    /// <summary>Runs it.</summary>
    /// <typeparam name="T">The type of the result.</typeparam>
    /// <param name="run">What to run.</param>
    /// <param name="priority">The lab's own threads come before those that they measure; the workload's do not.</param>
    public static Task<T> RunAsync<T>(Func<T> run, ThreadPriority priority = ThreadPriority.AboveNormal)
    {
        TaskCompletionSource<T> end = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread thread = new(() =>
        {
            try
            {
                end.SetResult(run());
            }
            catch (Exception error)
            {
                end.SetException(error);
            }
        })
        { IsBackground = true, Name = "Weir lab", Priority = priority };
        thread.Start();
        return end.Task;
    }
}
