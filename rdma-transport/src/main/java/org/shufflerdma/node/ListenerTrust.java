/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.node;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Map;
import jdk.net.ExtendedSocketOptions;

/**
 * Decides whether an executor may tell its application's key to whoever listens at a unix socket. It trusts root,
 * its own user, and the user for whom root or its own user has made the place of the socket: that user owns the
 * socket and its folder, and nobody else could have put them there. Any thread may call.
 */
final class ListenerTrust {
  private static final int WRITABLE_BY_OTHERS = 0_022;
  private static final int STICKY = 0_1000;

  private final UserPrincipal root;
  private final UserPrincipal own;

  ListenerTrust(UserPrincipal root, UserPrincipal own) {
    this.root = root;
    this.own = own;
  }

  /** As this process trusts. */
  static ListenerTrust ofThisProcess() throws IOException {
    Path self = Path.of("/proc/self");
    return new ListenerTrust(
        self.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("0"),
        Files.getOwner(self));
  }

  /**
   * Checks whose process listens at the other end of a connected channel.
   *
   * @param socket the absolute path to which the channel is connected
   * @throws UntrustedListenerException if it is not trusted, with the remedy
   */
  void check(Path socket, SocketChannel channel) throws IOException {
    check(socket, channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user());
  }

  void check(Path socket, UserPrincipal listener) throws UntrustedListenerException {
    if (listener.equals(root) || listener.equals(own)) {
      return;
    }
    String doubt = doubtOf(socket, listener);
    if (!doubt.isEmpty()) {
      throw new UntrustedListenerException(
          ("user %s listens at %s (nodeServiceSocket) and is not told the application's key,"
                  + " because %s. Run the node service as root or as user %s, or keep its socket in a folder of"
                  + " its own user's, below folders to which root alone can write, such as /run/shuffle-rdma,"
                  + " and give the path without symbolic links")
              .formatted(listener.getName(), socket, doubt, own.getName()));
    }
  }

  /** Why others than root, this process's user and the listener may have made the socket; empty if they cannot. */
  private String doubtOf(Path socket, UserPrincipal listener) {
    try {
      Path folder = socket.getParent();
      if (folder == null || !folder.toRealPath().equals(folder)) {
        return "there are symbolic links in its path";
      }
      boolean anybodyMayAdd = false;
      for (int names = 0; names <= socket.getNameCount(); names++) {
        Path path =
            names == 0 ? socket.getRoot() : socket.getRoot().resolve(socket.subpath(0, names));
        Map<String, Object> look =
            Files.readAttributes(path, "unix:owner,mode", LinkOption.NOFOLLOW_LINKS);
        boolean isTheListeners = listener.equals(look.get("owner"));
        boolean isTrusted = root.equals(look.get("owner")) || own.equals(look.get("owner"));
        if (!isTheListeners && (!isTrusted || path.equals(folder) || path.equals(socket))) {
          return path + " is not that user's";
        }
        if (anybodyMayAdd && !isTrusted) {
          return "anybody could have made " + path;
        }
        int mode = look.get("mode") instanceof Integer bits ? bits : WRITABLE_BY_OTHERS;
        anybodyMayAdd = (mode & WRITABLE_BY_OTHERS) != 0;
        if (anybodyMayAdd && (mode & STICKY) == 0 && !path.equals(socket)) {
          return "others can write to " + path;
        }
      }
      return "";
    } catch (IOException e) {
      return "its path cannot be examined (" + e + ")";
    }
  }
}
