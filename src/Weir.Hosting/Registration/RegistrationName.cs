using Microsoft.Extensions.DependencyInjection;

namespace Weir.Hosting;

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
