using Weir.RabbitMQ.Tests.Servers;

namespace Weir.RabbitMQ.Tests.Queues;

/// <summary>Tests with a virtual host of their own.</summary>
public abstract class VirtualHostTest(RabbitServer server) : QueueTest(server), IAsyncLifetime
{
    private bool _isAdded;

    protected string VirtualHost => Name.Replace('.', '-');

    // Not in the test: a command of the broker starts a machine of Erlang's, which may take long, and which no limit of a test is for.
    public async ValueTask InitializeAsync()
    {
        await Server.CommandAsync("add_vhost", VirtualHost);
        _isAdded = true;
        await Server.CommandAsync("set_permissions", "-p", VirtualHost, Server.Admin.UserInfo.Split(':')[0], ".*", ".*", ".*");
    }

    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        if (_isAdded)
        {
            await Server.CommandAsync("eval", $"catch rabbit_vhost:delete(<<\"{VirtualHost}\">>, <<\"test\">>), ok.");
        }
    }
}
