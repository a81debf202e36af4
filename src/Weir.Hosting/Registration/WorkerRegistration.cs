using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

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
