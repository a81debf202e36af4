using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

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

/// <summary>Registers a worker, once the type of its items is known.</summary>
internal sealed class WorkerRegistration<[DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] TProcessor>(
    IServiceCollection services, string name) : IItemTypeVisitor
    where TProcessor : class, IWorkProcessor
{
    public void Visit<T>()
    {
        services.TryAddScoped<TProcessor>();
        services.AddKeyedSingleton(name, (provider, _) => new WorkerService<TProcessor, T>(name, provider));
        services.AddKeyedSingleton<IWeirWorker>(name, (provider, _) => provider.GetRequiredKeyedService<WorkerService<TProcessor, T>>(name));
        services.AddSingleton<IWeirWorker>(provider => provider.GetRequiredKeyedService<WorkerService<TProcessor, T>>(name));
        services.AddSingleton<IHostedService>(provider => provider.GetRequiredKeyedService<WorkerService<TProcessor, T>>(name));
        services.AddSingleton<IConfigureOptions<WeirWorkerOptions>>(provider => new ConfiguredOptions(name, provider.GetService<IConfiguration>()));
        services.AddSingleton<IValidateOptions<WeirWorkerOptions>>(
            provider => new OptionsCheck(name, provider.GetRequiredService<IOptions<HostOptions>>().Value));
        services.AddOptions<WeirWorkerOptions>(name).ValidateOnStart();
    }
}

/// <summary>The names under which things are registered. Each is the name of a section of the configuration too.</summary>
internal static class RegistrationName
{
    /// <summary>Checks a new name.</summary>
    /// <typeparam name="TService">The service that has these names as keys.</typeparam>
    /// <param name="services">The services of the application.</param>
    /// <param name="name">The name.</param>
    /// <param name="ifTaken">What to say if another one has it.</param>
    public static void Check<TService>(IServiceCollection services, string name, string ifTaken)
    {
        if (name.Length == 0 || name.Contains(':', StringComparison.Ordinal))
        {
            throw new ArgumentException("name must not be empty or have a colon: it is the name of a section of the configuration.", nameof(name));
        }

        if (services.Any(s => s.IsKeyedService && s.ServiceType == typeof(TService) && name.Equals(s.ServiceKey)))
        {
            throw new ArgumentException(ifTaken, nameof(name));
        }
    }
}
