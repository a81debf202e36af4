using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.DependencyInjection;

namespace Weir.Hosting;

/// <summary>Adds workers to an application.</summary>
public static class WeirWorkerServiceCollectionExtensions
{
    /// <summary>Adds a worker: it reads items from a queue, processes them, and stops gracefully with the application.</summary>
    /// <typeparam name="TProcessor">
    /// Processes the items. It is registered as a scoped service unless it is registered already, and each item gets one from a scope of its own.
    /// </typeparam>
    /// <param name="services">The services of the application.</param>
    /// <param name="name">
    /// The name of the worker in the configuration (section <c>Weir:Workers:NAME</c>), in health checks and in log lines; <see langword="null"/> for the name
    /// of the type.
    /// </param>
    /// <param name="configure">Sets options, before the configuration does; <see langword="null"/> for none.</param>
    /// <returns>The services.</returns>
    /// <remarks>
    /// The worker takes its <see cref="IWorkQueue{T}"/> from the services, with its name as the key or without a key, and its
    /// <see cref="IWorkSerializer{T}"/> in the same way; text and bytes need none. It reads when the application starts, and tries again for as long as the
    /// server is unavailable. A <see cref="WorkSetupException"/> ends the worker, and the application unless its <c>BackgroundServiceExceptionBehavior</c> says
    /// otherwise.
    /// </remarks>
    /// <exception cref="ArgumentNullException"><paramref name="services"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty, has a colon, or is the name of another worker.</exception>
    public static IServiceCollection AddWeirWorker<[DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TProcessor>(
        this IServiceCollection services, string? name = null, Action<WeirWorkerOptions>? configure = null)
        where TProcessor : class, IWorkProcessor
    {
        ArgumentNullException.ThrowIfNull(services);
        name ??= typeof(TProcessor).Name;
        RegistrationName.Check<IWeirWorker>(services, name, $"There is already a worker '{name}': give each worker its own name.");

        if (configure is not null)
        {
            services.Configure(name, configure);
        }

        TProcessor.Accept(new WorkerRegistration<TProcessor>(services, name));
        return services;
    }
}
