using Microsoft.AspNetCore.Antiforgery;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.FileProviders;
using Microsoft.Extensions.Primitives;

namespace Weir.Dashboard;

/// <summary>Maps the live page of Weir in an application of ASP.NET Core.</summary>
public static class WeirDashboardEndpoints
{
    /// <summary>Maps the page: the runs, runtimes, limits, circuit breakers, blocks, workers and queues of this process.</summary>
    /// <param name="endpoints">The application.</param>
    /// <param name="pattern">
    /// The path of the page. All of it is at this one address: a browser gets the page, and a request with <c>Accept: application/json</c> the snapshot that
    /// docs/reference/diagnostics.md describes.
    /// </param>
    /// <param name="configure">Sets options; <see langword="null"/> for the defaults: the machine itself alone may see the page, and nobody may act.</param>
    /// <returns>The endpoint, for more conventions, such as <c>RequireAuthorization</c> or <c>RequireHost</c>.</returns>
    /// <remarks>
    /// While the application runs, the process keeps an hour of history in bounded memory.
    /// </remarks>
    /// <exception cref="ArgumentNullException"><paramref name="endpoints"/> or <paramref name="pattern"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException">An option is out of range, or actions are allowed without a policy.</exception>
    /// <exception cref="InvalidOperationException">The application lacks a service that an option needs.</exception>
    public static IEndpointConventionBuilder MapWeir(
        this IEndpointRouteBuilder endpoints, string pattern = "/weir", Action<WeirDashboardOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(pattern);
        var options = new WeirDashboardOptions();
        configure?.Invoke(options);
        options.Validate();
        IServiceProviderIsService? known = endpoints.ServiceProvider.GetService<IServiceProviderIsService>();
        Need<IAuthorizationPolicyProvider>(options.Policy is not null || options.AllowActions, "a policy", "AddAuthorization");
        Need<IAntiforgery>(options.AllowActions, nameof(WeirDashboardOptions.AllowActions), "AddAntiforgery");

        var handler = new DashboardHandler(options, endpoints.ServiceProvider);
        endpoints.DataSources.Add(new EndOfServices(handler));
        IEndpointConventionBuilder mapped = endpoints.MapMethods(pattern, [HttpMethods.Get, HttpMethods.Head, HttpMethods.Post], handler.AnswerAsync)
            .WithDisplayName("Weir dashboard")
            .ExcludeFromDescription();
        return options.Policy is { } policy ? mapped.RequireAuthorization(policy) : mapped;

        void Need<TService>(bool isNeeded, string what, string how)
        {
            if (isNeeded && known?.IsService(typeof(TService)) == false)
            {
                throw new InvalidOperationException($"{what} needs a service that the application does not have: call builder.Services.{how}().");
            }
        }
    }

    /// <summary>Has no endpoint. The services of an application dispose of its data sources with themselves, also when it was not stopped.</summary>
    private sealed class EndOfServices(DashboardHandler handler) : EndpointDataSource, IDisposable
    {
        public override IReadOnlyList<Endpoint> Endpoints => [];

        public override IChangeToken GetChangeToken() => NullChangeToken.Singleton;

        public void Dispose() => handler.Dispose();
    }
}
