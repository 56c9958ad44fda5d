/* SPDX-License-Identifier: Apache-2.0 */
package org.shufflerdma.plugin;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.shufflerdma.device.RdmaUnavailableException;

class RdmaStackTest {

  @Test
  void aSecretThatTheSoftwareDeviceRefusesIsNamedWithItsLengthAndARemedy() {
    for (int bytes : new int[] {1, 15, 257}) {
      assertThatThrownBy(() -> RdmaStack.requireUsableSecret(bytes))
          .isInstanceOf(RdmaUnavailableException.class)
          .hasMessageContaining("spark.authenticate.secret has " + bytes + " bytes")
          .hasMessageContaining("16 to 256");
    }
    assertThatCode(() -> RdmaStack.requireUsableSecret(16)).doesNotThrowAnyException();
    assertThatCode(() -> RdmaStack.requireUsableSecret(256)).doesNotThrowAnyException();
  }

  @Test
  void tooFewDescriptorsAreNamedWithARemedy() {
    assertThatThrownBy(() -> RdmaStack.requireDescriptors(511))
        .isInstanceOf(RdmaUnavailableException.class)
        .hasMessageContaining("may have 511 files open, and RDMA needs 512")
        .hasMessageContaining("ulimit -n");
    assertThatCode(() -> RdmaStack.requireDescriptors(512)).doesNotThrowAnyException();
  }
}
