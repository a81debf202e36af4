using Microsoft.Extensions.DependencyInjection;

namespace Weir.Hosting;

/// <summary>
/// What a worker needs from the services of the application. A service with the name of the worker as its key comes before one without a key.
/// </summary>
internal static class WorkerServices
{
    public static IWorkQueue<T> Queue<T>(IServiceProvider services, string worker) =>
        Find<IWorkQueue<T>>(services, worker) ?? throw Missing<T>(
            worker, "a queue", $"services.AddSingleton<IWorkQueue<{typeof(T).Name}>>(...), with AddKeyedSingleton and \"{worker}\" for a queue of its own");

    public static IWorkStatistics GaugedQueue<T>(IServiceProvider services, string gauges) =>
        Find<IWorkQueue<T>>(services, gauges) ?? throw new InvalidOperationException(
            $"The gauges '{gauges}' need a queue of {typeof(T).Name} items: services.AddSingleton<IWorkQueue<{typeof(T).Name}>>(...), with AddKeyedSingleton "
            + $"and \"{gauges}\" for a queue of its own.");

    /// <summary>The serializer of the queue, or that of the services if the queue has none.</summary>
    /// <exception cref="InvalidOperationException">There are two that could disagree, or none.</exception>
    public static IWorkSerializer<T> Serializer<T>(IServiceProvider services, string worker, IWorkQueue<T> queue)
    {
        IWorkSerializer<T>? registered = Find<IWorkSerializer<T>>(services, worker);
        return queue.Serializer is not { } its
            ? registered ?? Usual<T>() ?? throw Missing<T>(
                worker, "a serializer", $"services.AddSingleton<IWorkSerializer<{typeof(T).Name}>>(WorkSerializer.Json(...))")
            : registered is null || ReferenceEquals(registered, its)
                ? its
                : throw new InvalidOperationException(
                    $"The worker '{worker}' has two serializers of {typeof(T).Name} items, that of its queue '{queue.Name}' and another one in the services: "
                    + "give it to the queue alone, or give the queue the one of the services.");
    }

    private static TService? Find<TService>(IServiceProvider services, string worker)
        where TService : class =>
        services.GetKeyedService<TService>(worker) ?? services.GetService<TService>();

    private static IWorkSerializer<T>? Usual<T>() => WorkSerializer.Text as IWorkSerializer<T> ?? WorkSerializer.Bytes as IWorkSerializer<T>;

    private static InvalidOperationException Missing<T>(string worker, string what, string how) =>
        new($"The worker '{worker}' needs {what} of {typeof(T).Name} items: {how}.");
}
