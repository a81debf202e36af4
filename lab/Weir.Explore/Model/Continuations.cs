namespace Weir.Explore.Model;

/// <summary>Continuations on the default scheduler.</summary>
[Replaces("System.Threading.Tasks.Task")]
[Replaces("System.Threading.Tasks.Task`1")]
internal static class Continuations
{
    public static Task ContinueWith(Task task, Action<Task> action) => task.ContinueWith(action, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task> action, CancellationToken token) =>
        task.ContinueWith(action, token, default, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task> action, TaskContinuationOptions options) =>
        task.ContinueWith(action, default, options, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state) => task.ContinueWith(action, state, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(action, state, default, options, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function) => task.ContinueWith(function, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, PoolScheduler.Instance);

    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action) => task.ContinueWith(action, PoolScheduler.Instance);

    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action, TaskContinuationOptions options) =>
        task.ContinueWith(action, default, options, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function) => task.ContinueWith(function, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, PoolScheduler.Instance);
}
