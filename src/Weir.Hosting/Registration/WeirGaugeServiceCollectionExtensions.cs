using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

/// <summary>Adds gauges of queues and change streams to an application.</summary>
public static class WeirGaugeServiceCollectionExtensions
{
    /// <summary>Adds gauges of a queue of the application: how much waits in it, read at intervals for as long as the application runs.</summary>
    /// <typeparam name="T">The type of the items' values.</typeparam>
    /// <param name="services">The services of the application, which have the <see cref="IWorkQueue{T}"/>, with the name as the key or without a key.</param>
    /// <param name="name">The name in the metrics, in the health check, in log lines, and in the configuration (section <c>Weir:Gauges:NAME</c>).</param>
    /// <param name="configure">Sets options, before the configuration does; <see langword="null"/> for none.</param>
    /// <returns>The services.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="services"/> or <paramref name="name"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty, has a colon, or is the name of other gauges.</exception>
    public static IServiceCollection AddWeirGauges<T>(this IServiceCollection services, string name, Action<WeirGaugeOptions>? configure = null) =>
        services.AddWeirGauges(name, provider => WorkerServices.GaugedQueue<T>(provider, name), configure);

    /// <summary>Adds gauges of a queue or a change stream, read at intervals for as long as the application runs.</summary>
    /// <param name="services">The services of the application.</param>
    /// <param name="name">The name in the metrics, in the health check, in log lines, and in the configuration (section <c>Weir:Gauges:NAME</c>).</param>
    /// <param name="find">Returns the queue or stream, when the application starts. Who made it disposes it.</param>
    /// <param name="configure">Sets options, before the configuration does; <see langword="null"/> for none.</param>
    /// <returns>The services.</returns>
    /// <remarks>An application that cannot read them goes on: a line is logged, the metrics are missing, and the health check says so.</remarks>
    /// <exception cref="ArgumentNullException">An argument other than <paramref name="configure"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty, has a colon, or is the name of other gauges.</exception>
    public static IServiceCollection AddWeirGauges(
        this IServiceCollection services, string name, Func<IServiceProvider, IWorkStatistics> find, Action<WeirGaugeOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        ArgumentNullException.ThrowIfNull(name);
        ArgumentNullException.ThrowIfNull(find);
        RegistrationName.Check<GaugeService>(services, name, $"There are already gauges '{name}': give each queue or stream its own name.");

        if (configure is not null)
        {
            services.Configure(name, configure);
        }

        services.AddKeyedSingleton(name, (provider, _) => new GaugeService(name, provider, find));
        services.AddSingleton(provider => provider.GetRequiredKeyedService<GaugeService>(name));
        services.AddSingleton<IHostedService>(provider => provider.GetRequiredKeyedService<GaugeService>(name));
        services.AddSingleton<IConfigureOptions<WeirGaugeOptions>>(provider => new GaugeSettings(name, provider.GetService<IConfiguration>()));
        services.AddSingleton<IValidateOptions<WeirGaugeOptions>>(new GaugeSettings(name, configuration: null));
        services.AddOptions<WeirGaugeOptions>(name).ValidateOnStart();
        return services;
    }
}
