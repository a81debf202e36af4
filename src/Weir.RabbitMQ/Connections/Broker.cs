using RabbitMQ.Client;
using RabbitMQ.Client.Events;
using RabbitMQ.Client.Exceptions;

namespace Weir.RabbitMQ;

/// <summary>Opens connections, and tells failures that another attempt may mend from those that it does not. What it says contains no credentials.</summary>
/// <param name="uri">Where the broker is, and who connects.</param>
/// <param name="what">What is done there, for messages.</param>
/// <param name="configure">What the user changes of a connection.</param>
internal sealed class Broker(Uri uri, string what, Action<ConnectionFactory>? configure)
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan CloseLimit = TimeSpan.FromSeconds(10);

    public string What => what;

    /// <summary>Opens a connection. It does not recover by itself: after a loss, the tags and the confirms of before mean nothing any more.</summary>
    /// <exception cref="WorkSetupException">The broker lets nobody in.</exception>
    /// <exception cref="TimeoutException">The broker does not answer in time.</exception>
    public async ValueTask<IConnection> ConnectAsync(string purpose, CancellationToken cancellationToken)
    {
        var factory = new ConnectionFactory { Uri = uri, ClientProvidedName = $"Weir: {what}, {purpose}" };
        configure?.Invoke(factory);
        factory.AutomaticRecoveryEnabled = false;
        factory.TopologyRecoveryEnabled = false;
        factory.ConsumerDispatchConcurrency = 1;
        try
        {
            return await factory.CreateConnectionAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (BrokerUnreachableException e) when (Refusal(e) is { } refusal)
        {
            throw new WorkSetupException($"RabbitMQ lets nobody in for {what}: {refusal}", e);
        }
        catch (OperationCanceledException e) when (!cancellationToken.IsCancellationRequested)
        {
            throw NoAnswer(e);
        }
    }

    /// <summary>What to do about a failure that repeating does not mend; null for all others.</summary>
    public string? Explain(Exception failure) => failure is OperationInterruptedException { ShutdownReason: { } reason } ? Explain(reason) : null;

    /// <inheritdoc cref="Explain(Exception)"/>
    // The same codes also stand for what passes: a queue whose node starts, a tag that came too late.
    public string? Explain(ShutdownEventArgs reason) => reason.ReplyCode switch
    {
        Constants.NotFound when Says(reason, "no queue '") || Says(reason, "no exchange '") =>
            $"What {what} needs is not there: call SetupAsync once, as a user who may declare queues. ({reason.ReplyText})",
        Constants.AccessRefused => $"The user of the connection lacks a right that {what} needs: {reason.ReplyText}. docs/rabbitmq.md lists the rights.",
        Constants.PreconditionFailed when Says(reason, "inequivalent arg") =>
            $"RabbitMQ has {what} otherwise than it is opened here: {reason.ReplyText}. Use the same options, or another name.",
        Constants.PreconditionFailed when Says(reason, "message size") => $"RabbitMQ does not take so large a message for {what}: {reason.ReplyText}.",
        _ => null,
    };

    /// <summary>
    /// Makes a failure that repeating does not mend a <see cref="WorkSetupException"/>, and an answer that does not come in time a
    /// <see cref="TimeoutException"/>, which the client calls a cancellation; others stay what they are.
    /// </summary>
    public async ValueTask<T> GuardAsync<T>(Func<ValueTask<T>> call, CancellationToken cancellationToken)
    {
        try
        {
            return await call().ConfigureAwait(false);
        }
        catch (OperationInterruptedException e) when (Explain(e) is { } explanation)
        {
            throw new WorkSetupException(explanation, e);
        }
        catch (OperationCanceledException e) when (!cancellationToken.IsCancellationRequested)
        {
            throw NoAnswer(e);
        }
    }

    /// <summary>Ends a connection without waiting for what an unavailable broker never says, or reads.</summary>
    public static async ValueTask CloseAsync(IConnection? connection)
    {
        if (connection is null)
        {
            return;
        }

        try
        {
            // The client waits until everything that it has to send is sent, and a connection on which nothing passes never takes it.
            await EndAsync(connection).WaitAsync(CloseLimit, TimeProvider.System).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // It has ended otherwise.
        }
    }

    private static async Task EndAsync(IConnection connection)
    {
        await connection.CloseAsync(Constants.ReplySuccess, "Done", AnswerLimit, abort: true, CancellationToken.None).ConfigureAwait(false);
        await connection.DisposeAsync().ConfigureAwait(false);
    }

    private TimeoutException NoAnswer(OperationCanceledException e) => new($"RabbitMQ did not answer in time for {what}.", e);

    private static bool Says(ShutdownEventArgs reason, string text) => reason.ReplyText.Contains(text, StringComparison.Ordinal);

    private static string? Refusal(Exception? e) => e switch
    {
        null => null,
        AuthenticationFailureException or PossibleAuthenticationFailureException => e.Message,
        OperationInterruptedException { ShutdownReason.ReplyCode: Constants.NotAllowed or Constants.AccessRefused } interrupted =>
            interrupted.ShutdownReason.ReplyText,
        AggregateException aggregate => aggregate.InnerExceptions.Select(Refusal).FirstOrDefault(static r => r is not null),
        _ => Refusal(e.InnerException),
    };
}
