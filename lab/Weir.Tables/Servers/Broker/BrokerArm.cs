namespace Weir.Tables.Servers.Broker;

/// <summary>One way to bring messages through the broker, from the first publish to the last acknowledgement.</summary>
/// <param name="Name">Its name on the page.</param>
/// <param name="Messages">How many messages a run has.</param>
/// <param name="ItemsPerMessage">How many items each of them has.</param>
/// <param name="RunAsync">A run: how long it took when the connections were open.</param>
internal sealed record BrokerArm(string Name, int Messages, int ItemsPerMessage, Func<Task<TimeSpan>> RunAsync);
