using System.Globalization;
using RabbitMQ.Client;
using RabbitMQ.Client.Events;
using RabbitMQ.Client.Exceptions;

namespace Weir.RabbitMQ;

/// <summary>Opens connections, and separates failures that a retry may fix from others. Its messages contain no credentials.</summary>
/// <param name="uri">Where the broker is, and who connects.</param>
/// <param name="what">What is done there, for messages.</param>
/// <param name="configure">What the user changes of a connection.</param>
internal sealed class Broker(Uri uri, string what, Action<ConnectionFactory>? configure)
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan CloseLimit = TimeSpan.FromSeconds(10);

    public string What => what;

    /// <summary>Opens a connection. It does not recover by itself, because after a loss, earlier tags and confirms mean nothing.</summary>
    /// <exception cref="WorkSetupException">The broker refuses the connection.</exception>
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
            throw new WorkSetupException($"RabbitMQ refuses the connection for {what}: {refusal}", e);
        }
        catch (OperationCanceledException e) when (!cancellationToken.IsCancellationRequested)
        {
            throw NoAnswer(e);
        }
    }

    /// <summary>What to do about a failure that a retry cannot fix; null for all others.</summary>
    public string? Explain(Exception failure) => failure is OperationInterruptedException { ShutdownReason: { } reason } ? Explain(reason) : null;

    /// <inheritdoc cref="Explain(Exception)"/>
    // The same codes are also used for failures that pass, such as a queue whose node is starting, or a tag that came too late.
    public string? Explain(ShutdownEventArgs reason) => reason.ReplyCode switch
    {
        Constants.NotFound when Says(reason, "no queue '") || Says(reason, "no exchange '") =>
            $"An exchange or a queue of {what} is missing: call SetupAsync once, as a user who may declare queues. ({reason.ReplyText})",
        Constants.NotAllowed when Says(reason, "vhost") && Says(reason, "not found") => $"RabbitMQ refuses the connection for {what}: {reason.ReplyText}",
        Constants.AccessRefused => $"The user of the connection lacks a right that {what} needs: {reason.ReplyText}. docs/reference/rabbitmq.md lists the rights.",
        Constants.PreconditionFailed when Says(reason, "inequivalent arg") =>
            $"RabbitMQ has {what} with other options: {reason.ReplyText}. Use the same options, or another name.",
        Constants.PreconditionFailed when Says(reason, "message size") => $"RabbitMQ does not accept a message of this size for {what}: {reason.ReplyText}.",
        _ => null,
    };

    /// <summary>
    /// Makes a failure that a retry cannot fix a <see cref="WorkSetupException"/>, and an answer that does not come in time a
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

    /// <summary>Opens a channel on a connection, uses it, and closes it, also after a failure. Fails as <see cref="GuardAsync{T}"/> does.</summary>
    public ValueTask<T> OnChannelAsync<T>(IConnection connection, Func<IChannel, ValueTask<T>> use, CancellationToken cancellationToken) =>
        GuardAsync(
            async () =>
            {
                IChannel channel = await connection.CreateChannelAsync(cancellationToken: cancellationToken).ConfigureAwait(false);
                try
                {
                    T result = await use(channel).ConfigureAwait(false);
                    await EndAsync(channel).ConfigureAwait(false);
                    return result;
                }
                catch
                {
                    // After a cancellation, or without an answer, nobody waits for the answer of the close.
                    _ = EndAsync(channel);
                    throw;
                }
            },
            cancellationToken);

    /// <summary>Ends a connection without waiting for answers or reads of a broker that may be unavailable.</summary>
    public static async ValueTask CloseAsync(IConnection? connection)
    {
        if (connection is null)
        {
            return;
        }

        try
        {
            // The client waits until everything is sent, which never ends on a connection that passes nothing on.
            await EndAsync(connection).WaitAsync(CloseLimit, TimeProvider.System).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The connection has ended in another way.
        }
    }

    private static async Task EndAsync(IConnection connection)
    {
        await connection.CloseAsync(Constants.ReplySuccess, "Done", AnswerLimit, abort: true, CancellationToken.None).ConfigureAwait(false);
        await connection.DisposeAsync().ConfigureAwait(false);
    }

    private static async Task EndAsync(IChannel channel)
    {
        try
        {
            await channel.DisposeAsync().AsTask().WaitAsync(CloseLimit, TimeProvider.System).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The channel ends with its connection.
        }
    }

    /// <summary>The limit for acknowledging a message, if a channel was closed because of it.</summary>
    public static TimeSpan? ConsumerTimeout(ShutdownEventArgs reason)
    {
        if (reason.ReplyCode != Constants.PreconditionFailed || !Says(reason, "delivery acknowledgement") || !Says(reason, "timed out"))
        {
            return null;
        }

        // "... timed out. Timeout value used: 1800000 ms. This timeout value can be configured ..."
        const string Before = "value used: ";
        int at = reason.ReplyText.IndexOf(Before, StringComparison.Ordinal);
        string[] words = at < 0 ? [] : reason.ReplyText[(at + Before.Length)..].Split(' ', 2);
        return words.Length > 0 && int.TryParse(words[0], NumberStyles.None, CultureInfo.InvariantCulture, out int milliseconds) && milliseconds > 0
            ? TimeSpan.FromMilliseconds(milliseconds)
            : TimeSpan.FromMinutes(30);
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
